const paths = {
  servers: "M4 5.5h16v5H4zM4 13.5h16v5H4zM7 8h.01M7 16h.01M11 8h5M11 16h5",
  networks: "M12 4v6M5 14v-2.5h14V14M12 10v4M3.5 14h3v5h-3zM10.5 14h3v5h-3zM17.5 14h3v5h-3z",
  firewalls: "M4 6h16v12H4zM4 10h16M4 14h16M9.3 6v4M14.7 6v4M7 10v4M12 10v4M17 10v4M9.3 14v4M14.7 14v4",
  gateways: "M4 5h7.5v14H4zM11.5 12H20M16.5 8.5 20 12l-3.5 3.5",
  loadBalancers: "M12 3.5v5M12 8.5 5 15M12 8.5V15M12 8.5l7 6.5M3 15h4v4.5H3zM10 15h4v4.5h-4zM17 15h4v4.5h-4z",
  addresses:
    "M12 21s6.5-6.2 6.5-11A6.5 6.5 0 0 0 5.5 10c0 4.8 6.5 11 6.5 11zM12 12.2a2.4 2.4 0 1 0 0-4.8 2.4 2.4 0 0 0 0 4.8z",
  domains: "M11.5 3.5v2.8M11.5 12v8.5M4.5 6.3h11.8l3.4 2.85-3.4 2.85H4.5zM8.5 20.5h6",
  certificates:
    "M18 9.5v-6H5v17h6.5M8.5 7.5h6M8.5 11h3.5M16.5 19a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM15 18.6V22l1.5-1 1.5 1v-3.4",
  regions:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3.5 9.5h17M3.5 14.5h17M12 3c-2.4 2.4-3.6 5.4-3.6 9s1.2 6.6 3.6 9c2.4-2.4 3.6-5.4 3.6-9S14.4 5.4 12 3z",
  keys: "M14.5 13.5a4.5 4.5 0 1 0-4-2.4L4 17.5V20h3v-2h2v-2h2l1.4-1.4c.6.2 1.3.3 2.1.3zM15.8 8.2h.01",
  organisation:
    "M5 20V6.5L12 4v16M12 9.5h7V20M3.5 20h17M8 9h.01M8 12.5h.01M8 16h.01M15.5 13h.01M15.5 16.5h.01",
  updown: "M8 10l4-4 4 4M8 14l4 4 4-4",
  members:
    "M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 19.5c.7-3.2 3-4.7 6-4.7s5.3 1.5 6 4.7M15.5 5a3.3 3.3 0 0 1 0 6.3M17.5 15.2c1.9.6 3.1 2 3.5 4.3",
  tokens: "M4 7h16v10H4zM8 12h.01M12 12h.01M16 12h.01",
  audit: "M6 3.5h9l3 3v14H6zM9 10h6M9 13.5h6M9 17h3.5",
  quotas: "M4.2 17.5a8.5 8.5 0 1 1 15.6 0M12 15l4-5",
  jobs: "M5 6h2M5 12h2M5 18h2M10.5 6H19M10.5 12H19M10.5 18H16",
  usage: "M5 19.5v-6M10 19.5v-10M15 19.5v-7M20 19.5V5M3.5 19.5h18",
  download: "M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 19.5h14",
  power: "M12 4v8M7.2 6.6a7 7 0 1 0 9.6 0",
  pencil: "M5 19l1-4L16.5 4.5l3 3L9 18zM14 7l3 3",
  tag: "M4 5h7l9 9-6.5 6.5L4.5 11.5zM8 8.6h.01",
  plus: "M12 5v14M5 12h14",
  check: "m5 12.5 4.5 4.5L19 7.5",
  up: "M12 19V6M6.5 11 12 5.5 17.5 11",
  down: "M12 5v13M6.5 13l5.5 5.5 5.5-5.5",
  cross: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  dot: "M12 11.5h.01",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M5.6 18.4l1.1-1.1M17.3 6.7l1.1-1.1",
  moon: "M19 14.5A7.5 7.5 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5z",
  screen: "M4 5.5h16v10.5H4zM9 20h6M12 16v4",
  lock: "M6.5 11h11v8.5h-11zM9 11V8a3 3 0 0 1 6 0v3",
  alert: "M12 4 21 19.5H3zM12 10v4.5M12 17h.01",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20c1-3.5 4-5 7.5-5s6.5 1.5 7.5 5",
  search: "M11 17.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM16 16l4 4",
  skip: "M5 12h14",
  sliders: "M4 8h9M17 8h3M4 16h3M11 16h9M13 5.5h4v5h-4zM7 13.5h4v5H7z",
  code: "M8.5 7.5 4 12l4.5 4.5M15.5 7.5 20 12l-4.5 4.5",
  more: "M6 12h.01M12 12h.01M18 12h.01",
} as const;

export type IconName = keyof typeof paths;

/** An icon beside a text with the same meaning; screen readers skip it. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      class="icon"
      data-icon={name}
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
