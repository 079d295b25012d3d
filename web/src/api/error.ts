/** ApiError is what the server said when it refused, or why it could not be asked. */
export class ApiError extends Error {
  constructor(
    /** HTTP status; 0: the server was not reached. */
    readonly status: number,
    /** The envelope's code, such as not_found. */
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** unreachable says that no answer came, so that trying again may help. */
  get unreachable(): boolean {
    return this.status === 0;
  }
}

/** messageOf is one sentence for a person, whatever was thrown. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Something went wrong.';
  const text = error.message.trim();
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** isCode says whether the server refused with this code. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.code === code;
}
