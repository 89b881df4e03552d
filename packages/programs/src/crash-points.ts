/**
 * The five crash points around each step of a program, named as in the reliability battery.
 *
 * - before-send: nothing has been sent.
 * - effect-done: the region has acted, its reply is not read.
 * - reply-read: the agent has the reply, the control plane has no report.
 * - ack-lost: the control plane has the report, its acknowledgement is not read.
 * - after-ack: the acknowledgement is read, the next step has not begun.
 */
export type CrashPoint = "before-send" | "effect-done" | "reply-read" | "ack-lost" | "after-ack";
