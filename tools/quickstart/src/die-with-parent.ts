// Loaded before each app that `npm start` runs (node --import). When the supervisor is gone, killed or not, the
// channel to it closes, and the app ends as if it had been asked to.
process.on("disconnect", () => {
  process.kill(process.pid, "SIGTERM");
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 9_000).unref();
});
process.channel?.unref();
