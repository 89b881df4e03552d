/** The sign-in page that says why it asks, and leads back to this very page. */
export function signInAddress(): string {
  const back = new URLSearchParams({ return_to: location.pathname + location.search, why: "ended" });
  return `/sign-in?${back}`;
}
