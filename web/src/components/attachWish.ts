import { create } from 'zustand';

/** useAttachWish stores the run whose page attaches when it is opened; null: none. */
export const useAttachWish = create<{ runId: string | null }>(() => ({ runId: null }));

/** wishAttach makes the page of a run attach when it is opened. */
export const wishAttach = (runId: string): void => useAttachWish.setState({ runId });
