import type { RequestBody, Schemas } from "@kule/contract/schemas";

type Server = Pick<Schemas["Server"], "package" | "disk_gb" | "status">;

/** The resize form as a person filled it in. */
export type ResizeForm = {
  readonly package: string;
  /** Keep the size of the disk, although the package has a larger one. */
  readonly keepDisk: boolean;
  /** What the sent page announced: that the server is restarted. */
  readonly wasToldOfRestart: boolean;
};

/** Reads the posted fields, or an address. Missing values are those of the server now. */
export function readResizeForm(fields: URLSearchParams, server: Server): ResizeForm {
  return {
    package: fields.get("package") ?? server.package.slug,
    keepDisk: fields.get("disk") === "keep",
    wasToldOfRestart: fields.get("allow_restart") === "true",
  };
}

/** The current and the new size. */
export type ResizePlan = {
  readonly wanted: Schemas["Package"];
  readonly diskGb: number;
  /** The package has a larger disk, so the person can choose to keep the smaller one. */
  readonly canGrow: boolean;
  /** The package has a smaller disk: the larger one is kept. */
  readonly keepsLarger: boolean;
  readonly needsRestart: boolean;
  readonly changesNothing: boolean;
};

/** @returns null for a package that is not in the catalogue */
export function planResize(
  form: ResizeForm,
  server: Server,
  packages: readonly Schemas["Package"][],
): ResizePlan | null {
  const wanted = packages.find(({ slug }) => slug === form.package);
  if (wanted === undefined) return null;
  const canGrow = wanted.disk_gb > server.disk_gb;
  const diskGb = canGrow && !form.keepDisk ? wanted.disk_gb : server.disk_gb;
  const changesCompute = wanted.vcpu !== server.package.vcpu || wanted.memory_mb !== server.package.memory_mb;
  return {
    wanted,
    diskGb,
    canGrow,
    keepsLarger: wanted.disk_gb < server.disk_gb,
    needsRestart: changesCompute && server.status === "running",
    changesNothing: wanted.slug === server.package.slug && diskGb === server.disk_gb,
  };
}

/** The body for the API. A disk that would have to shrink is kept, as the page says. */
export function toResizeBody(
  form: ResizeForm,
  plan: ResizePlan | null,
  allowRestart: boolean,
): RequestBody<"resizeServer"> {
  return {
    package: form.package,
    allow_restart: allowRestart,
    grow_disk: plan === null ? !form.keepDisk : plan.canGrow ? !form.keepDisk : !plan.keepsLarger,
  };
}
