/** The floor that reads are compared with: node:http and pg, one select by primary key, nothing else. */
import { createServer } from "node:http";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.FLOOR_DATABASE_URL, max: 20 });

const server = createServer((request, response) => {
  const id = request.url?.split("/").at(-1) ?? "";
  pool.query({ name: "floor", text: "select body from bench_floor where id = $1", values: [id] }).then(
    ({ rows: [row] }) => {
      if (row === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(row.body);
    },
    () => response.writeHead(500).end(),
  );
});
server.listen(Number(process.env.FLOOR_PORT), "127.0.0.1", () => process.stdout.write("ready\n"));
