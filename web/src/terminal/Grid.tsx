import '@xterm/xterm/css/xterm.css';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { type ITheme, Terminal } from '@xterm/xterm';
import { useEffect, useImperativeHandle, useRef } from 'react';
import { copyText } from '@/ui/Copy';
import { useFont } from './font';
import type { GridProps } from './gridProps';
import { withLinks } from './links';
import type { Palette } from './palette';
import { fontFor, plainSize, type Scale } from './scale';

const themeOf = ({ background, foreground, colors }: Palette, typing: boolean): ITheme => {
  const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
  const named = Object.fromEntries(
    colors.map((color, i) => {
      const name = names[i % 8] as string;
      return [i < 8 ? name : `bright${name.charAt(0).toUpperCase()}${name.slice(1)}`, color];
    }),
  );
  return {
    ...named,
    background,
    foreground,
    cursor: typing ? foreground : background,
    cursorAccent: background,
    selectionBackground: '#7a7af055',
  };
};

/** Queries that a program can send to a terminal: its type, its cursor position, its modes. */
const questions = [
  { final: 'c' },
  { prefix: '>', final: 'c' },
  { prefix: '=', final: 'c' },
  { prefix: '>', final: 'q' },
  { final: 'n' },
  { prefix: '?', final: 'n' },
  { intermediates: '$', final: 'p' },
  { prefix: '?', intermediates: '$', final: 'p' },
];
const colourQuestions = [4, 10, 11, 12];

/**
 * neverReply keeps the terminal from answering such queries. tmux needs no answer from a viewer, and each answer would
 * count as typed input: a run that waits for a person would look answered.
 */
function neverReply({ parser }: Terminal): void {
  for (const id of questions) parser.registerCsiHandler(id, () => true);
  parser.registerDcsHandler({ intermediates: '$', final: 'q' }, () => true);
  for (const id of colourQuestions) parser.registerOscHandler(id, (data) => data.includes('?'));
}

/** Modes in which a terminal reports other events than keys: the mouse in its several encodings, and the focus. */
const reports = [9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016];

/**
 * onlyKeys keeps everything but keys and pasted text from becoming input. A turn of the wheel would be sent as an arrow
 * key, which answers an agent's menu.
 */
function onlyKeys(terminal: Terminal): void {
  terminal.attachCustomWheelEventHandler(() => false);
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'h' }, (modes) =>
    modes.every((mode) => reports.includes(mode as number)),
  );
}

/**
 * Grid is a terminal with a given number of cells. Its font is scaled to the room; the number of cells does not depend
 * on it.
 */
export default function Grid({ cols, rows, scale, palette, typing, label, onType, onScale, ref }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const terminal = useRef<Terminal | null>(null);
  const latest = useRef({ onType, onScale, typing });
  latest.current = { onType, onScale, typing };
  const font = useFont();
  const first = useRef({ cols, rows, palette, typing, label, font });

  useEffect(() => {
    if (!host.current) return;
    const { cols, rows, palette, typing, label, font } = first.current;
    const made = new Terminal({
      cols,
      rows,
      scrollback: 0,
      disableStdin: true,
      convertEol: false,
      minimumContrastRatio: 4.5,
      allowProposedApi: true,
      screenReaderMode: false,
      cursorBlink: false,
      cursorInactiveStyle: 'none',
      fontFamily: font,
      fontSize: plainSize,
      theme: themeOf(palette, typing),
    });
    made.loadAddon(new Unicode11Addon());
    made.unicode.activeVersion = '11';
    neverReply(made);
    onlyKeys(made);
    withLinks(made);
    made.open(host.current);
    made.textarea?.setAttribute('aria-label', label);
    made.onData((data) => latest.current.onType?.(data));
    made.attachCustomKeyEventHandler((event) => {
      // Ctrl+C copies the selection. Without a selection the agent gets Ctrl+C, as it gets Ctrl+V.
      // A terminal that is only watched takes no keys: otherwise Tab could not leave it.
      const { typing } = latest.current;
      if (event.type !== 'keydown' || !event.ctrlKey || event.altKey) return typing;
      if (event.code === 'KeyV' && event.shiftKey) return false;
      if (event.code === 'KeyC' && made.hasSelection()) {
        event.preventDefault();
        void copyText(made.getSelection());
        made.clearSelection();
        return false;
      }
      return typing;
    });
    terminal.current = made;
    return () => {
      terminal.current = null;
      made.dispose();
    };
  }, []);

  useEffect(() => {
    const now = terminal.current;
    if (!now) return;
    now.options.disableStdin = !typing;
    if (now.textarea) now.textarea.tabIndex = typing ? 0 : -1;
    now.options.theme = themeOf(palette, typing);
    now.options.cursorInactiveStyle = typing ? 'outline' : 'none';
  }, [palette, typing]);

  useEffect(() => {
    const now = terminal.current;
    if (now && (now.cols !== cols || now.rows !== rows)) now.resize(cols, rows);
  }, [cols, rows]);

  useEffect(() => {
    const room = box.current;
    if (!room) return;
    if (terminal.current) terminal.current.options.fontFamily = font;
    const scaleFont = (): void => {
      const now = terminal.current;
      const screen = now?.element?.querySelector<HTMLElement>('.xterm-screen');
      if (!now || !screen || room.clientWidth === 0) return;
      const size = now.options.fontSize ?? plainSize;
      const cell: Scale = {
        width: screen.offsetWidth / now.cols / size,
        height: screen.offsetHeight / now.rows / size,
      };
      const fitting =
        scale === 'fit'
          ? fontFor({ width: room.clientWidth - 16, height: room.clientHeight - 16 }, now, cell)
          : plainSize;
      if (Math.abs(fitting - size) > 0.04) now.options.fontSize = fitting;
      latest.current.onScale?.({
        font: fitting,
        cols: Math.floor((room.clientWidth - 16) / (cell.width * plainSize)),
        rows: Math.floor((room.clientHeight - 16) / (cell.height * plainSize)),
      });
    };
    scaleFont();
    const observer = new ResizeObserver(scaleFont);
    observer.observe(room);
    const resized = terminal.current?.onResize(scaleFont);
    return () => {
      observer.disconnect();
      resized?.dispose();
    };
  }, [scale, font]);

  useImperativeHandle(
    ref,
    () => ({
      write: (data, done) => terminal.current?.write(data, done),
      resize: (cols, rows) => terminal.current?.write('', () => terminal.current?.resize(cols, rows)),
      focus: () => terminal.current?.focus(),
    }),
    [],
  );

  const scrolls = scale === 'full' && !typing;
  return (
    <section
      ref={box}
      data-terminal
      aria-label={scrolls ? label : undefined}
      // It scrolls, so the keyboard must reach it.
      tabIndex={scrolls ? 0 : undefined}
      style={{ background: palette.background }}
      className="h-full w-full overflow-auto"
    >
      <div ref={host} className="inline-block p-2" />
    </section>
  );
}
