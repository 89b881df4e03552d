import type { FileHandle } from "node:fs/promises";

/** A part of a file for a reader. */
type Download = {
  readonly file: FileHandle;
  readonly start: number;
  readonly end: number;
  /**
   * Ends the reader's connection: the answer stays visibly short. Without one the stream fails, after which a server may still write
   * an error's text to where the file's bytes were.
   */
  readonly disconnect: (() => void) | null;
};

type DownloadPlace = {
  /** The file's bytes, for which the place is taken until they have been read or the reader is gone. Closes the file. */
  stream(download: Download): ReadableStream<Uint8Array>;
  /** For one that does not begin. */
  release(): void;
};

const chunkBytes = 256 * 1024;
/** A reader that takes nothing for this long is gone: it must not keep its place. */
const longestPauseMs = 60_000;

/** So many files are sent at once, by one process; all end when it is told to stop. */
export class FileDownloads {
  readonly #most: number;
  readonly #stopping: AbortSignal;
  readonly #pauseMs: number;
  #running = 0;

  constructor(most: number, stopping: AbortSignal, pauseMs: number = longestPauseMs) {
    this.#most = most;
    this.#stopping = stopping;
    this.#pauseMs = pauseMs;
  }

  /** Null when all places are taken. */
  take(): DownloadPlace | null {
    if (this.#running >= this.#most) return null;
    this.#running += 1;
    let isTaken = true;
    const release = () => {
      if (isTaken) this.#running -= 1;
      isTaken = false;
    };
    return { release, stream: (download) => this.#stream(download, release) };
  }

  #stream({ file, start, end, disconnect }: Download, release: () => void): ReadableStream<Uint8Array> {
    let at = start;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const over = async () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#stopping.removeEventListener("abort", onStop);
      release();
      await file.close().catch(() => {});
    };
    let onStop = () => {};
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const endWith = (why: string) => () => {
            if (disconnect === null) controller.error(new Error(why));
            else disconnect();
            void over();
          };
          onStop = endWith("the process is told to stop");
          if (this.#stopping.aborted) onStop();
          else this.#stopping.addEventListener("abort", onStop, { once: true });
          timer = setTimeout(endWith("nobody reads"), this.#pauseMs);
        },
        pull: async (controller) => {
          timer?.refresh();
          const chunk = new Uint8Array(Math.min(chunkBytes, end - at));
          try {
            const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
            if (isOver) return;
            if (bytesRead === 0) throw new Error("the file is shorter than it was");
            at += bytesRead;
            controller.enqueue(chunk.subarray(0, bytesRead));
            if (at < end) return;
            controller.close();
            await over();
          } catch (error) {
            if (isOver) return;
            await over();
            if (disconnect === null) throw error;
            disconnect();
          }
        },
        cancel: over,
      },
      { highWaterMark: 0 },
    );
  }
}
