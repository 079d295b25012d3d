import { create } from 'zustand';

/** useAttachWish is the run whose page shall attach as soon as it is there; null: none. */
export const useAttachWish = create<{ runId: string | null }>(() => ({ runId: null }));

/** wishAttach has the page of a run attach when it is opened. */
export const wishAttach = (runId: string): void => useAttachWish.setState({ runId });
