import { isCode } from '@/api/error';

/** How often a record is read at most, when others change it between a read and the write. */
const mostReads = 5;

/**
 * onVersion reads a record and passes it to change, which writes only if the record still has that version. If another
 * client changed the record in between, it is read again and change is called again. Any other error ends the attempt.
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
