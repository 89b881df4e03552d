import type { Schemas } from "@kule/contract/schemas";

/** Shows a job's progress: on a terminal as one line that changes, elsewhere as a line for each change. */
export class ProgressLine {
  readonly #output: NodeJS.WriteStream;
  #shown = "";

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  show(job: Schemas["Job"]): void {
    const text = describeJob(job);
    if (text === this.#shown) return;
    this.#output.write(this.#output.isTTY ? `\r\x1b[2K${text}` : `${text}\n`);
    this.#shown = text;
  }

  /** Ends the line, so that the next output is below it. */
  end(): void {
    if (this.#output.isTTY && this.#shown !== "") this.#output.write("\n");
  }
}

/** e.g. `ServerCreate  60 %  apply: clone`. */
export function describeJob(job: Schemas["Job"]): string {
  const step = job.steps.findLast(({ status }) => status === "running") ?? job.steps.at(-1);
  const doing = job.done ? job.status : step === undefined ? job.status : `${step.phase}: ${step.name}`;
  return `  ${job.kind} ${String(job.progress).padStart(3)} %  ${doing}`;
}
