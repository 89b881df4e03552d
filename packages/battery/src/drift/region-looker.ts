import { TestLooker } from "@kule/api/testing/test-looker";
import { GuestEyes } from "@kule/programs/inventory/guest-eyes";
import { type LookPiece, lookAtRegion } from "@kule/programs/inventory/look-at-region";
import { SETTINGS } from "@kule/programs/testing/lab-region";
import { systemRuntime } from "@kule/proxmox/runtime";
import type { LocalScene } from "../job-kinds/local-scene.ts";
import { ROOM } from "../job-kinds/local-scene.ts";

/** What an agent saw of its region, and has not told yet. */
export type UntoldLook = { readonly pass: number; readonly pieces: readonly LookPiece[] };

export type ToldDrift = {
  readonly kind: string;
  readonly vmid: number;
  readonly server: string | null;
  readonly fields: readonly string[];
};

/** The agent's real looks at the lab, told to the real API when the row says so. */
export class RegionLooker {
  readonly #scene: LocalScene;
  readonly #looker: TestLooker;
  readonly #eyes: GuestEyes;
  looks = 0;

  constructor(scene: LocalScene) {
    this.#scene = scene;
    this.#looker = new TestLooker(scene.agentApi);
    this.#eyes = new GuestEyes(scene.lab.client, systemRuntime);
  }

  /** Begins a pass and looks at everything. Whatever look was not told by now never can be. */
  async see(): Promise<UntoldLook> {
    const { pass, look_for } = await this.#looker.begin();
    if (pass === null) throw new Error("another agent looks");
    const dependencies = {
      client: this.#scene.lab.client,
      runtime: systemRuntime,
      settings: { ...SETTINGS, vmidRange: ROOM.vmid_range },
      eyes: this.#eyes,
      signal: new AbortController().signal,
    };
    const pieces: LookPiece[] = [];
    for await (const piece of lookAtRegion(dependencies, pass, look_for, 50)) pieces.push(piece);
    this.looks += 1;
    return { pass, pieces };
  }

  async tell({ pass, pieces }: UntoldLook): Promise<void> {
    for (const [batch, piece] of pieces.entries()) await this.#looker.batch(pass, batch, piece);
  }

  async look(): Promise<void> {
    await this.tell(await this.see());
  }

  /** As operators see it. */
  async told(): Promise<ToldDrift[]> {
    const { body } = await this.#scene.operator.get("/operator/drift?limit=200");
    type Item = Omit<ToldDrift, "server" | "fields"> & {
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

export const inWords = (drift: readonly ToldDrift[]): string =>
  drift
    .map(({ kind, vmid, fields }) => `${kind} ${vmid}${fields.length > 0 ? ` (${fields.join(", ")})` : ""}`)
    .sort()
    .join("; ") || "nothing";
