import type { JobKind } from "@kule/contract/schemas";
import { attachPublicIp, detachPublicIp } from "@kule/programs/public-ips/program";
import { createServer } from "@kule/programs/servers/create-server/program";
import { destroyServer } from "@kule/programs/servers/destroy-server/program";
import { powerServer } from "@kule/programs/servers/power-server/program";
import { rebuildServer } from "@kule/programs/servers/rebuild-server/program";
import { resetPassword } from "@kule/programs/servers/reset-password/program";
import { resizeServer } from "@kule/programs/servers/resize-server/program";
import { restoreServer } from "@kule/programs/servers/restore-server/program";
import { stopServer } from "@kule/programs/servers/stop-server/program";
import { updateServer } from "@kule/programs/servers/update-server/program";

/** The steps that a kind's program can have at all. */
export const STEP_NAMES: { readonly [Kind in JobKind]: readonly string[] } = {
  ServerCreate: Object.keys(createServer.apply),
  ServerStop: Object.keys(stopServer.apply),
  ServerRestore: Object.keys(restoreServer.apply),
  ServerDestroy: Object.keys(destroyServer.apply),
  ServerPower: Object.keys(powerServer.apply),
  ServerResize: Object.keys(resizeServer.apply),
  PublicIpAttach: Object.keys(attachPublicIp.apply),
  PublicIpDetach: Object.keys(detachPublicIp.apply),
  ServerRebuild: Object.keys(rebuildServer.apply),
  ServerPasswordReset: Object.keys(resetPassword.apply),
  ServerUpdate: Object.keys(updateServer.apply),
};
