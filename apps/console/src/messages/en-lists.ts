/** English texts of lists: their settings, and the actions of their rows. */
export const listsEn = {
  listView: {
    title: "View",
    rows: "Rows on a page",
    columns: "Columns",
    apply: "Apply",
    reset: "Reset",
  },
  rowMenu: {
    title: "Acts",
    of: (name: string) => `Acts on ${name}`,
  },
  deletionLoses: {
    goes: (addresses: string) => `Released at the end of the removal: ${addresses}.`,
    stays: (addresses: string) => `Yours and free for another server after that: ${addresses}.`,
  },
  usageEvents: {
    title: "Usage events",
    lead: "Each moment at which the use of something began or ended. Segments are computed from these, and none is ever changed. Times are UTC.",
    event: "Event",
    at: "When",
    cause: "Caused by",
    job: "Job",
    only: "only this",
    /** Where no job caused it. */
    sources: {
      verify: "a job",
      reconcile: "seen in the region",
      correction: "corrected by an operator",
      request: "a request",
      meter: "measured in the region",
    },
    kinds: {
      "server.started": "Server started",
      "server.stopped": "Server stopped",
      "server.resized": "Server resized",
      "server.purge_scheduled": "Deletion asked for",
      "server.purged": "Server removed",
      "disk.allocated": "Disk created",
      "disk.released": "Disk removed",
      "public_ip.allocated": "Public IP reserved",
      "public_ip.released": "Public IP released",
      "load_balancer.traffic": "Traffic of a load balancer",
      "usage.corrected": "Usage corrected",
    },
    empty: "No events",
    emptyHint:
      "Nothing in this month matches. There is one for each start, stop, resize and deletion of a server.",
  },
};
