// A notice says that a job is running. When the page finds that no job is open any more, the notice is removed, and its
// name is removed from the address, so that a reload does not show it again.
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
