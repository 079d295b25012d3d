import { countUntil, type Recording, type Step } from './recording';

/** Screen is the terminal on which a recording is drawn. */
export interface Screen {
  /** write draws the data and then calls done. */
  write(data: string, done?: () => void): void;
  resize(cols: number, rows: number): void;
}

/** A full reset of the terminal (RIS). It also ends an incomplete sequence. */
const reset = '\x1bc';
/** How many characters are written at once. Between two pieces the page can render. */
const piece = 128 * 1024;

/** Playback draws a recording's screen at any time. Forwards it draws the missing steps; backwards it starts again. */
export class Playback {
  /** How many steps have been drawn. */
  private drawn = 0;
  private wanted = 0;
  private drawing: Promise<void> | null = null;

  constructor(
    private readonly recording: Recording,
    private readonly screen: Screen,
  ) {}

  /**
   * show draws the screen at a time. If it is called while it still draws, only the last requested time is drawn next.
   */
  show(at: number): Promise<void> {
    this.wanted = countUntil(this.recording.steps, (step) => step.at, at);
    this.drawing ??= this.draw().finally(() => {
      this.drawing = null;
    });
    return this.drawing;
  }

  private async draw(): Promise<void> {
    while (this.drawn !== this.wanted) {
      const { cols, rows, steps } = this.recording;
      const until = this.wanted;
      if (until < this.drawn) {
        await this.write([reset]);
        this.screen.resize(cols, rows);
        this.drawn = 0;
      }
      await this.apply(steps.slice(this.drawn, until));
      this.drawn = until;
    }
  }

  /** apply draws steps. A change of size waits until the output before it is drawn. */
  private async apply(steps: Step[]): Promise<void> {
    let output: string[] = [];
    for (const step of steps) {
      if ('data' in step) {
        output.push(step.data);
        continue;
      }
      await this.write(output);
      output = [];
      this.screen.resize(step.cols, step.rows);
    }
    await this.write(output);
  }

  private write(output: string[]): Promise<void> {
    const text = output.join('');
    if (text === '') return Promise.resolve();
    return new Promise((resolve) => {
      for (let from = 0; from < text.length; from += piece)
        this.screen.write(text.slice(from, from + piece), from + piece >= text.length ? resolve : undefined);
    });
  }
}
