/** The address of the sign-in page, with the reason and the way back to this page. */
export function signInAddress(): string {
  const back = new URLSearchParams({ return_to: location.pathname + location.search, why: "ended" });
  return `/sign-in?${back}`;
}
