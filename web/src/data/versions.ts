import { isCode } from '@/api/error';

/** How often a record is read anew when others change it between our reading and our writing. */
const mostReads = 5;

/**
 * onVersion changes a record on top of the very version that change was shown. When someone else was faster, it is read
 * and decided anew; what change throws of its own ends it.
 */
export async function onVersion<T>(
  read: () => Promise<{ answer: T; etag: string | null }>,
  change: (record: T, version: { ifMatch?: string }) => Promise<T>,
): Promise<T> {
  for (let reads = 1; ; reads++) {
    const { answer, etag } = await read();
    try {
      return await change(answer, etag ? { ifMatch: etag } : {});
    } catch (error) {
      if (!isCode(error, 'precondition_failed') || reads === mostReads) throw error;
    }
  }
}
