/**
 * The five places around each step of a program, named as the reliability battery names them.
 *
 * before-send: nothing has been sent. effect-done: the region has acted, its reply is not read.
 * reply-read: we know, the control plane does not. ack-lost: it knows, we have not seen that it does.
 * after-ack: everybody knows, the next step has not begun.
 */
export type CrashPoint = "before-send" | "effect-done" | "reply-read" | "ack-lost" | "after-ack";
