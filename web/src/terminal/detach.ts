/** How long the first key of the way out waits for the second, in ms. */
const patience = 500;
const prefix = '\x1c'; // Ctrl-\

/**
 * DetachKeys finds Ctrl-\ then d in what is typed. Everything else goes through, also the prefix when
 * nothing or something else follows it.
 */
export class DetachKeys {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private held = false;

  constructor(
    private readonly send: (data: string) => void,
    private readonly detach: () => void,
  ) {}

  /** type takes what the keyboard gave. */
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

  /** drop forgets a prefix that waits, without sending it. */
  drop(): void {
    clearTimeout(this.timer);
    this.held = false;
  }
}
