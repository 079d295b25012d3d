import { create } from 'zustand';

/** useAttachRequest stores the run whose page attaches when it is opened; null: none. */
export const useAttachRequest = create<{ runId: string | null }>(() => ({ runId: null }));

/** requestAttach makes the page of a run attach when it is opened. */
export const requestAttach = (runId: string): void => useAttachRequest.setState({ runId });
