/**
 * The server's part of an RFB 3.8 handshake without a password: the agent has already signed in to the
 * hypervisor with a password that no viewer needs. Returns the function that gets the viewer's bytes.
 *
 * @param done gets what followed the handshake, the beginning of the viewer's ClientInit
 */
export function greetViewer(
  send: (bytes: Uint8Array) => void,
  done: (rest: Buffer) => void,
  failed: () => void,
): (bytes: Uint8Array) => void {
  let waiting = Buffer.alloc(0);
  let stage: "version" | "type" | "done" = "version";
  send(Buffer.from("RFB 003.008\n"));
  return (bytes) => {
    if (stage === "done") return;
    waiting = Buffer.concat([waiting, bytes]);
    if (stage === "version" && waiting.length >= 12) {
      if (waiting.toString("latin1", 0, 12) !== "RFB 003.008\n") {
        stage = "done";
        failed();
        return;
      }
      waiting = waiting.subarray(12);
      stage = "type";
      // One security type: none.
      send(Buffer.from([1, 1]));
    }
    if (stage === "type" && waiting.length >= 1) {
      stage = "done";
      if (waiting[0] !== 1) {
        failed();
        return;
      }
      send(Buffer.alloc(4));
      done(waiting.subarray(1));
    }
  };
}
