import { Check, Copy as CopyIcon } from 'lucide-react';
import { useEffect, useState } from 'react';
import { IconButton } from './Button';

/** copyText copies a text. It also works where the clipboard API is missing, as on plain-HTTP addresses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement;
    const area = document.createElement('textarea');
    area.value = text;
    area.style.position = 'fixed';
    area.style.opacity = '0';
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    if (before instanceof HTMLElement) before.focus(); // such as a terminal, so that typing continues there
    return copied;
  }
}

/** CopyButton copies a text and then shows that it was copied. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton
      label={copied ? 'Copied' : label}
      size="sm"
      onClick={async () => setCopied(await copyText(text))}
    >
      {copied ? <Check className="size-3.5 text-ok" /> : <CopyIcon className="size-3.5" />}
    </IconButton>
  );
}

/** Command shows a command line with a button that copies it. */
export function Command({ line }: { line: string }) {
  return (
    <div className="flex items-center gap-2 rounded-md bg-sunken py-1 pr-1 pl-3 ring-1 ring-inset ring-line">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <code tabIndex={0} className="min-w-0 flex-1 overflow-x-auto whitespace-nowrap font-mono text-xs">
        {line}
      </code>
      <CopyButton text={line} label="Copy command" />
    </div>
  );
}
