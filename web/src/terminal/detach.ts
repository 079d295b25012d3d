/** How long after the first key of the detach sequence the second one may come, in ms. */
const patience = 500;
const prefix = '\x1c'; // Ctrl-\

/**
 * DetachKeys finds Ctrl-\ followed by d in typed text. It passes everything else on, including a Ctrl-\ that is followed
 * by nothing or by another key.
 */
export class DetachKeys {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private held = false;

  constructor(
    private readonly send: (data: string) => void,
    private readonly detach: () => void,
  ) {}

  /** type handles input from the keyboard. */
  type(data: string): void {
    if (this.held) {
      this.drop();
      if (data === 'd') {
        this.detach();
        return;
      }
      this.send(prefix);
    }
    if (data === prefix) {
      this.held = true;
      this.timer = setTimeout(() => {
        this.drop();
        this.send(prefix);
      }, patience);
      return;
    }
    this.send(data);
  }

  /** drop discards a waiting Ctrl-\ without sending it. */
  drop(): void {
    clearTimeout(this.timer);
    this.held = false;
  }
}
