/** ApiError is an error that the server returned, or the reason why the server could not be reached. */
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

  /** unreachable reports whether no answer arrived. Then trying again may help. */
  get unreachable(): boolean {
    return this.status === 0;
  }
}

/** messageOf returns one sentence for a person, for any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? sentence(error.message.trim()) : 'Something went wrong.';
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

/** fieldErrors returns the server's message for each refused field, by the field's name. Empty: it named no field. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {};
  const { fields, field } = error.details;
  if (typeof field === 'string') return { [field]: messageOf(error) };
  return Object.fromEntries(
    Object.entries(fields ?? {}).map(([name, text]) => [name, sentence(String(text))]),
  );
}

/** isCode reports whether an error is a refusal of the server with this code. */
export function isCode(error: unknown, code: string): boolean {
  return error instanceof ApiError && error.code === code;
}
