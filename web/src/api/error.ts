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
  return error instanceof Error ? sentence(error.message.trim()) : 'Something went wrong.';
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

/** fieldErrors is what the server said of each field, as a sentence by the field's name; empty: it named none. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {};
  const { fields, field } = error.details;
  if (typeof field === 'string') return { [field]: messageOf(error) };
  return Object.fromEntries(
    Object.entries(fields ?? {}).map(([name, text]) => [name, sentence(String(text))]),
  );
}

/** isCode says whether the server refused with this code. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.code === code;
}
