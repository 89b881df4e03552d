/** What the lab reads of a haproxy.cfg: what `kule-lb status` speaks of. */
export interface HaproxyConfiguration {
  readonly generation: number | null;
  readonly maxConnections: number | null;
  readonly frontends: readonly { readonly id: string; readonly isHttp: boolean }[];
  readonly servers: readonly ConfiguredServer[];
}

export interface ConfiguredServer {
  readonly backend: string;
  readonly name: string;
  readonly address: string;
  readonly weight: number;
}

export function readConfiguration(text: string): HaproxyConfiguration {
  const frontends: { id: string; isHttp: boolean }[] = [];
  const servers: ConfiguredServer[] = [];
  let section: readonly [kind: string, name: string] = ["", ""];
  for (const words of text.split("\n").map((line) => line.trim().split(/\s+/))) {
    const [first = "", second = "", third = ""] = words;
    if (["global", "defaults", "frontend", "backend"].includes(first)) {
      section = [first, second];
      if (first === "frontend") frontends.push({ id: second, isHttp: false });
    }
    if (section[0] === "frontend" && first === "mode") {
      const frontend = frontends.at(-1);
      if (frontend !== undefined) frontend.isHttp = second === "http";
    }
    if (section[0] === "backend" && first === "server")
      servers.push({
        backend: section[1],
        name: second,
        address: third.replace(/:[0-9]+$/, ""),
        weight: Number(words[words.indexOf("weight") + 1] ?? "1"),
      });
  }
  const globalNumber = (form: RegExp) => {
    const found = form.exec(text)?.[1];
    return found === undefined ? null : Number(found);
  };
  return {
    generation: globalNumber(/^\s+setenv KULE_GENERATION ([0-9]+)$/m),
    maxConnections: globalNumber(/^\s+maxconn ([0-9]+)$/m),
    frontends,
    servers,
  };
}

/** The files that the crt-lists name, relative to the state's files. */
export function certificateFiles(files: ReadonlyMap<string, string>): string[] {
  return [...files]
    .filter(([path]) => /^files\/haproxy\/certificates\/[^/]+\.list$/.test(path))
    .flatMap(([, list]) => list.split("\n"))
    .flatMap((line) => {
      const [file = ""] = line.trim().split(/\s+/);
      return file === "" ? [] : [`files/haproxy/${file}`];
    });
}
