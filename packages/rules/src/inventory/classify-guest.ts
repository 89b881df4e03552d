/** The facts about a guest of the region that decide whose it is. */
export type GuestFacts = {
  readonly vmid: number;
  readonly region: string;
  readonly isVm: boolean;
  readonly isTemplate: boolean;
  readonly marker: {
    readonly serverId: string;
    readonly organisationId: string;
    readonly region: string;
  } | null;
  /** Kule allocates its number in this region. */
  readonly inRange: boolean;
  /** The live server that has its number. */
  readonly holder: { readonly id: string; readonly organisationId: string } | null;
};

export type Classified =
  | { readonly as: "ours" }
  /** It has a server's number and is not recognisable as its VM. */
  | { readonly as: "changed"; readonly wanted: string; readonly seen: string | null }
  | { readonly as: "extra"; readonly why: string }
  | { readonly as: "foreign"; readonly why: string }
  /** None of Kule's business. */
  | { readonly as: "nothing" };

/** Whose a guest is: by its number, and by the marker that Kule writes into its VMs. */
export function classifyGuest(guest: GuestFacts): Classified {
  const { vmid, marker, holder } = guest;
  const isMarkedHere = marker !== null && marker.region === guest.region;
  if (holder !== null) {
    if (
      isMarkedHere &&
      guest.isVm &&
      marker.serverId === holder.id &&
      marker.organisationId === holder.organisationId
    )
      return { as: "ours" };
    return { as: "changed", wanted: holder.id, seen: marker?.serverId ?? null };
  }
  if (isMarkedHere)
    return {
      as: "extra",
      why: `VM ${vmid} is marked for ${marker.serverId}, and no server has that number`,
    };
  if (!guest.inRange) return { as: "nothing" };
  const what = guest.isTemplate ? "A template" : guest.isVm ? "A VM" : "A container";
  return {
    as: "foreign",
    why: `${what} that Kule did not make has the number ${vmid}, which Kule gives out`,
  };
}
