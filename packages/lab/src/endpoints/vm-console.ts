import { badParameters, failure } from "../api-error.ts";
import { type Call, flag, type Handlers, number, required, text } from "../call.ts";
import { listenForConsole } from "../console/console-listeners.ts";
import { hasPasswordInTicket, makeVncTicket, verifyVncTicket } from "../console/vnc-ticket.ts";
import type { VmDocument } from "../documents.ts";
import { vmOn } from "../region.ts";
import { systemSecrets } from "../runtime.ts";

/** Eight printable characters, as they fit into a VNC password. */
const newPassword = (): string => systemSecrets.bytes(6).toString("base64");

/** The display when it is a serial line. */
const serialDisplay = (vm: VmDocument): string | null => /^serial\d/.exec(vm.config.vga ?? "")?.[0] ?? null;

function termproxy(call: Call): unknown {
  const { region, node, authUser } = call;
  const vm = vmOn(region, node, required(call, "vmid"));
  const serial = text(call, "serial") ?? serialDisplay(vm);
  if (serial === null) throw failure("unable to find a serial interface");
  if (vm.config[serial] !== "socket") throw failure(`no such serial device '${serial}'`);
  const { vmid } = vm;
  const listener = listenForConsole(region, {
    kind: "termproxy",
    node,
    vmid,
    authUser,
    serial,
    password: "",
  });
  const head = hasPasswordInTicket(region) ? newPassword() : null;
  const ticket = makeVncTicket(region, { authUser, vmid, port: listener.port }, head);
  listener.ticket = ticket;
  return { user: authUser, ticket, port: listener.port, upid: listener.upid };
}

function vncproxy(call: Call): unknown {
  const { region, node, authUser } = call;
  const vm = vmOn(region, node, required(call, "vmid"));
  if (flag(call, "generate-password") && !flag(call, "websocket"))
    throw badParameters({ "generate-password": "missing property - 'websocket'" });
  // Without a websocket the port would be open to the network and the client a VNC viewer: that is not needed
  // here.
  if (!flag(call, "websocket")) throw failure("the lab serves VNC by websocket only");
  const { vmid } = vm;
  const generated = newPassword();
  const inTicket = hasPasswordInTicket(region);
  const isGenerated = inTicket || flag(call, "generate-password");
  const what = { kind: "vncproxy", node, vmid, authUser, serial: serialDisplay(vm) } as const;
  // Old releases use the beginning of the ticket as the password, which is the same every time.
  const listener = listenForConsole(region, { ...what, password: isGenerated ? generated : "PVEVNC:" });
  const ticket = makeVncTicket(region, { authUser, vmid, port: listener.port }, inTicket ? generated : null);
  listener.ticket = ticket;
  if (!isGenerated) listener.password = ticket.slice(0, 8);
  return {
    user: authUser,
    ticket,
    port: listener.port,
    upid: listener.upid,
    cert: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
    ...(flag(call, "generate-password") ? { password: generated } : {}),
  };
}

/**
 * The checks before the connection becomes a websocket. Without an upgrade it answers the port and no more.
 */
function vncwebsocket(call: Call): unknown {
  const { region, node, authUser } = call;
  const vmid = number(call, "vmid") ?? 0;
  const port = number(call, "port") ?? 0;
  verifyVncTicket(region, required(call, "vncticket"), { authUser, vmid, port });
  vmOn(region, node, vmid);
  return { port: String(port) };
}

export const vmConsoleHandlers: Handlers = {
  "POST /nodes/{node}/qemu/{vmid}/termproxy": termproxy,
  "POST /nodes/{node}/qemu/{vmid}/vncproxy": vncproxy,
  "GET /nodes/{node}/qemu/{vmid}/vncwebsocket": vncwebsocket,
};
