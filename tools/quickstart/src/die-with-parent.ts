// Loaded before each app that `npm start` runs (node --import). When the supervisor has ended, killed or not,
// the channel to it closes, and the app ends as after a stop signal.
process.on("disconnect", () => {
  process.kill(process.pid, "SIGTERM");
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 9_000).unref();
});
process.channel?.unref();
