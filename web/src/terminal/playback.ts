import { countUntil, type Recording, type Step } from './recording';

/** Screen is the terminal that a recording is drawn on. */
export interface Screen {
  /** write draws; done is called when it is drawn. */
  write(data: string, done?: () => void): void;
  resize(cols: number, rows: number): void;
}

/** A full reset of the terminal (RIS): it also ends a sequence that was written in part. */
const reset = '\x1bc';
/** How much is written at once, in characters: the terminal lets the page draw between two pieces. */
const piece = 128 * 1024;

/** Playback draws the screen of any moment of a recording: forwards what is missing, backwards from the beginning. */
export class Playback {
  /** How many steps are drawn. */
  private drawn = 0;
  private wanted = 0;
  private drawing: Promise<void> | null = null;

  constructor(
    private readonly recording: Recording,
    private readonly screen: Screen,
  ) {}

  /** show draws the screen of a moment. A moment that is asked for while another is drawn comes after it; only the last one counts. */
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

  /** apply draws steps. A new size waits until the output before it is drawn. */
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
