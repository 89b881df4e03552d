import { type Command, readRange, UsageError } from "../command.ts";
import { regionFileSkeleton } from "../region-file.ts";

export const addRegion: Command = {
  noun: "region",
  verb: "add",
  summary: "Register a region, create its agent's token and write a region file to begin with",
  options: {
    slug: { value: "SLUG", about: "its short name, such as ist1", isRequired: true },
    name: { value: "NAME", about: "its name as people read it", isRequired: true },
    vmids: { value: "FIRST-LAST", about: "VM ids of the cluster that nobody else uses", isRequired: true },
    vlans: { value: "FIRST-LAST", about: "VLANs of its private networks", isRequired: true },
    country: { value: "CC", about: "ISO 3166 code of two letters, such as TR" },
    mode: { value: "MODE", about: "agent (default), or direct: the worker does the region's jobs" },
    "token-name": { value: "NAME", about: "name of the agent's token (default: agent)" },
    file: { value: "PATH", about: "where the region file goes; it must not be there yet (default: printed)" },
  },
  async run(given, api, files) {
    const slug = given.needed("slug");
    const vmids = readRange("vmids", given.needed("vmids"));
    const vlans = readRange("vlans", given.needed("vlans"));
    const country = given.one("country");
    const mode = given.one("mode") ?? "agent";
    if (mode !== "agent" && mode !== "direct") throw new UsageError("--mode is agent or direct");
    const client = api.client();
    const region = await api.ask(
      client.POST("/regions", {
        params: { header: api.once() },
        body: {
          slug,
          name: given.needed("name"),
          mode,
          vmid_range: vmids,
          vlan_range: vlans,
          ...(country === undefined ? {} : { country }),
        },
      }),
    );
    // Direct mode has no agent that a token would be for.
    const token =
      mode === "direct"
        ? null
        : await api.ask(
            client.POST("/regions/{region}/agent-tokens", {
              params: { path: { region: slug }, header: api.once() },
              body: { name: given.one("token-name") ?? "agent" },
            }),
          );
    const file = regionFileSkeleton({ slug, apiUrl: api.baseUrl, vmids, vlans });
    const path = given.one("file");
    if (path !== undefined && !api.isDryRun) files.write(path, file);
    return {
      json: { region, agent_token: token, region_file: file },
      text: () =>
        [
          `registered ${slug}`,
          ...(token === null
            ? []
            : [
                `KULE_AGENT_TOKEN=${token.secret}`,
                "  the token is shown once: keep it where only the agent reads it",
              ]),
          path === undefined
            ? `the region file, to be completed:\n\n${file}`
            : `wrote ${path}: complete the lines with CHANGE`,
        ].join("\n"),
    };
  },
};
