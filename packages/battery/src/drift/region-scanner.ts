import { TestScanner } from "@kule/api/testing/test-scanner";
import { GuestInspector } from "@kule/programs/inventory/guest-inspector";
import { type ScanPart, scanRegion } from "@kule/programs/inventory/scan-region";
import { SETTINGS } from "@kule/programs/testing/lab-region";
import { systemRuntime } from "@kule/proxmox/runtime";
import type { LocalScene } from "../job-kinds/local-scene.ts";
import { ROOM } from "../job-kinds/local-scene.ts";

/** The result of an agent's scan of its region that is not reported yet. */
export type UnreportedScan = { readonly pass: number; readonly pieces: readonly ScanPart[] };

export type ReportedDrift = {
  readonly kind: string;
  readonly vmid: number;
  readonly server: string | null;
  readonly fields: readonly string[];
};

/** The agent's real scans of the lab, reported to the real API when the row does so. */
export class RegionScanner {
  readonly #scene: LocalScene;
  readonly #testScanner: TestScanner;
  readonly #inspector: GuestInspector;
  looks = 0;

  constructor(scene: LocalScene) {
    this.#scene = scene;
    this.#testScanner = new TestScanner(scene.agentApi);
    this.#inspector = new GuestInspector(scene.lab.client, systemRuntime);
  }

  /** Begins a scan and inspects everything. An earlier scan that was not reported by now never can be. */
  async see(): Promise<UnreportedScan> {
    const { pass, look_for } = await this.#testScanner.begin();
    if (pass === null) throw new Error("another agent looks");
    const dependencies = {
      client: this.#scene.lab.client,
      runtime: systemRuntime,
      settings: { ...SETTINGS, vmidRange: ROOM.vmid_range },
      inspector: this.#inspector,
      signal: new AbortController().signal,
    };
    const pieces: ScanPart[] = [];
    for await (const piece of scanRegion(dependencies, pass, look_for, 50)) pieces.push(piece);
    this.looks += 1;
    return { pass, pieces };
  }

  async tell({ pass, pieces }: UnreportedScan): Promise<void> {
    for (const [batch, piece] of pieces.entries()) await this.#testScanner.batch(pass, batch, piece);
  }

  async look(): Promise<void> {
    await this.tell(await this.see());
  }

  /** As operators see it. */
  async told(): Promise<ReportedDrift[]> {
    const { body } = await this.#scene.operator.get("/operator/drift?limit=200");
    type Item = Omit<ReportedDrift, "server" | "fields"> & {
      server_id: string | null;
      differences: { field: string }[];
    };
    return (body.items as Item[]).map(({ kind, vmid, server_id, differences }) => ({
      kind,
      vmid,
      server: server_id,
      fields: differences.map(({ field }) => field),
    }));
  }
}

export const inWords = (drift: readonly ReportedDrift[]): string =>
  drift
    .map(({ kind, vmid, fields }) => `${kind} ${vmid}${fields.length > 0 ? ` (${fields.join(", ")})` : ""}`)
    .sort()
    .join("; ") || "nothing";
