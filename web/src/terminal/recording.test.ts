// @vitest-environment node
import { expect, it } from 'vitest';
import { advance, readRecording } from './recording';

const header = '{"version":2,"width":20,"height":5,"timestamp":1700000000,"title":"x"}\n';

/** streamed returns a text as a stream of pieces of a few bytes, which split lines and characters. */
function streamed(text: string, piece = 3): ReadableStream<Uint8Array> {
  const all = new TextEncoder().encode(text);
  let from = 0;
  return new ReadableStream({
    pull(to) {
      if (from >= all.length) return to.close();
      to.enqueue(all.subarray(from, from + piece));
      from += piece;
    },
  });
}

it('parses output, sizes and markers, however the stream is cut into pieces', async () => {
  const text = `${header}[0.000,"m","run.started"]\n[0.250,"o","grüße 🙂\\r\\n"]\n[1.5,"r","40x10"]\n[2.000,"i","typed"]\n[1.750,"o","b"]\n`;
  for (const piece of [1, 3, 1000]) {
    expect(await readRecording(streamed(text, piece))).toEqual({
      cols: 20,
      rows: 5,
      steps: [
        { at: 250, data: 'grüße 🙂\r\n' },
        { at: 1500, cols: 40, rows: 10 },
        { at: 1750, data: 'b' },
      ],
      marks: [{ at: 0, label: 'run.started' }],
      times: [0, 250, 1500, 1750],
      length: 1750,
      cut: false,
    });
  }
});

it('keeps times rising and leaves out sizes that no terminal has', async () => {
  const recording = await readRecording(
    streamed(`${header}[2,"o","a"]\n[1,"o","b"]\n[3,"r","0x5"]\n[3,"r","99999x5"]\n[3,"r","wide"]`),
  );
  expect(recording.steps).toEqual([
    { at: 2000, data: 'a' },
    { at: 2000, data: 'b' },
  ]);
  expect(recording.length).toBe(2000);
});

it('stops reading a recording that is too large, at a whole line, and says so', async () => {
  const line = '[1,"o","0123456789"]\n';
  const whole = header + line.repeat(4);
  const most = header.length + line.length * 2 + 5;
  const recording = await readRecording(streamed(whole), most);
  expect(recording.cut).toBe(true);
  expect(recording.steps).toHaveLength(2);
  expect((await readRecording(streamed(whole), whole.length)).cut).toBe(false);
});

it('refuses what is no recording, and one that is damaged', async () => {
  await expect(readRecording(streamed(''))).rejects.toThrow('no header');
  await expect(readRecording(streamed('{"version":1,"width":2,"height":2}\n'))).rejects.toThrow(
    'asciicast v2',
  );
  await expect(readRecording(streamed(`${header}[1,"o","tor`))).rejects.toThrow('damaged');
});

it('passes a pause in two seconds when idle time is skipped, and the rest at its own pace', async () => {
  const recording = await readRecording(streamed(`${header}[1,"o","a"]\n[101,"o","b"]\n[102,"o","c"]\n`));
  expect(advance(recording, 0, 500, true)).toBe(500);
  expect(advance(recording, 0, 1000, true)).toBe(1000);
  expect(advance(recording, 0, 2000, true)).toBe(51_000); // half of the idle time
  expect(advance(recording, 51_000, 1000, true)).toBe(101_000); // starts inside the idle time
  expect(advance(recording, 0, 3500, true)).toBe(101_500);
  expect(advance(recording, 0, 60_000, true)).toBe(102_000);
  expect(advance(recording, 0, 3500, false)).toBe(3500);
});
