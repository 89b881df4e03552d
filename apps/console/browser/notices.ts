// A notice says that something is under way. When the page has seen that nothing is any more, the notice is old: it goes,
// and with it its name in the address, which would bring it back with the next load.
document.addEventListener("htmx:after:swap", () => {
  const live = document.querySelector("main [data-poll][id$='-live']");
  if (live === null || live.querySelector(".status[data-tone=busy]") !== null) return;
  const notices = document.querySelectorAll("main > .banner[data-kind=notice]:not([data-kept-form])");
  if (notices.length === 0) return;
  for (const notice of notices) notice.remove();
  const address = new URL(location.href);
  address.searchParams.delete("notice");
  history.replaceState(history.state, "", address);
});
