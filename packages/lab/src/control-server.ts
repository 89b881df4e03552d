import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { ApiError } from "./api-error.ts";
import type { HttpFault, HttpFaults } from "./http/http-faults.ts";
import { readJournal } from "./journal.ts";
import { pveum } from "./node-commands/pveum.ts";
import type { Region } from "./region.ts";
import type { ApplianceRefusal, TaskFault } from "./tasks/task-faults.ts";
import { configView } from "./vm/config-file.ts";
import { callWorld, type World } from "./world.ts";

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const value: unknown = text === "" ? {} : JSON.parse(text);
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new Error("a JSON object, please");
  return value as Record<string, unknown>;
}

/**
 * The lab's back door, on a port of its own and loopback only, never part of the Proxmox VE API:
 * `GET /journal?after=seq`, `GET /vms`, `GET|POST|DELETE /faults`, `POST /task-faults`, `POST /guests`,
 * `POST /world {do, args}`, `POST /pveum {args}`.
 */
export function controlServer(region: Region, world: World, faults: HttpFaults, dataDir: string): Server {
  const route = async (request: IncomingMessage): Promise<unknown> => {
    const url = new URL(request.url ?? "/", "http://control");
    switch (`${request.method} ${url.pathname}`) {
      case "GET /journal": {
        const after = Number(url.searchParams.get("after") ?? 0);
        return readJournal(dataDir).filter(({ seq }) => seq > after);
      }
      case "GET /vms":
        return region.store.all("vm").map((vm) => ({
          vmid: vm.vmid,
          node: vm.node,
          temporary: vm.temporary,
          running: vm.process !== null,
          config: configView(vm, true),
          pending: vm.pending,
          guest: vm.guest,
          drive: vm.drive,
        }));
      case "GET /faults":
        return { http: faults.list(), tasks: region.taskFaults.list() };
      case "POST /faults":
        return { id: faults.add((await readJson(request)) as unknown as HttpFault) };
      case "POST /task-faults":
        region.taskFaults.add((await readJson(request)) as unknown as TaskFault);
        return {};
      case "DELETE /faults": {
        const id = url.searchParams.get("id");
        if (id !== null) {
          faults.remove(Number(id));
        } else {
          faults.clear();
          region.taskFaults.clear();
        }
        return {};
      }
      case "POST /guests": {
        const { vmid, deaf, agentless, refuses } = (await readJson(request)) as {
          vmid: number;
          deaf?: boolean;
          agentless?: boolean;
          refuses?: ApplianceRefusal | null;
        };
        const set = (of: Set<number>, on: boolean | undefined): void => {
          if (on === true) of.add(vmid);
          if (on === false) of.delete(vmid);
        };
        set(region.taskFaults.unresponsiveGuests, deaf);
        set(region.taskFaults.agentless, agentless);
        if (refuses === null) region.taskFaults.refusingAppliances.delete(vmid);
        else if (refuses !== undefined) region.taskFaults.refusingAppliances.set(vmid, refuses);
        return {};
      }
      case "POST /pveum": {
        const { args = [] } = (await readJson(request)) as { args?: string[] };
        return { output: pveum(region, args) };
      }
      case "POST /world": {
        const { do: name, args = [] } = (await readJson(request)) as { do?: string; args?: unknown[] };
        return { result: callWorld(world, name ?? "", args) };
      }
      default:
        throw new ApiError(404, `no ${request.method} ${url.pathname} here`);
    }
  };
  return createServer((request: IncomingMessage, response: ServerResponse) => {
    route(request).then(
      (value) => response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value)),
      (error: unknown) => {
        const status = error instanceof ApiError && error.status === 404 ? 404 : 400;
        response
          .writeHead(status, { "Content-Type": "application/json" })
          .end(JSON.stringify({ error: error instanceof Error ? error.message.trimEnd() : String(error) }));
      },
    );
  });
}
