import { useEffect } from 'react';
import { visible } from './visible';

let page = '';
let waiting = 0;

function show(): void {
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${page ? `${visible(page)} · ` : ''}svc`;
}

/** useTitle names the page in the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    page = title;
    show();
  }, [title]);
}

/** setWaiting puts the number of runs that need someone in front of the title. */
export function setWaiting(count: number): void {
  waiting = count;
  show();
}
