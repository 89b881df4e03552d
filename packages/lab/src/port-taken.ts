/** The port is in use. The message names it. */
export class PortTaken extends Error {
  readonly port: number;
  constructor(port: number) {
    super(`port ${port} is taken`);
    this.port = port;
  }
}
