import type { ConsoleClient } from "./console-client.ts";

/** The serial port of a machine: one client has the line, others wait. Output without a client is lost. */
export interface SerialPort {
  attach(client: ConsoleClient): void;
  detach(client: ConsoleClient): void;
  input(client: ConsoleClient, bytes: Uint8Array): void;
  /** The machine restarts while its clients stay attached. */
  boot(): void | Promise<void>;
  /** The machine is off. */
  end(): void;
}
