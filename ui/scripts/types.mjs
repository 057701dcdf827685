// Turns what scripts/schemas.py wrote into TypeScript: the API, the events of its streams, the entries of a run's log.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const folder = new URL("../src/api/generated/", import.meta.url);
const read = async (name) => JSON.parse(await readFile(new URL(name, folder), "utf-8"));

const api = await read("openapi.json");
const stream = api.paths["/api/runs/{run_id}/events"].get.responses["200"].content["text/event-stream"].schema;
const events = stream.oneOf.map(({ properties: { event, data } }) => {
  const name = data.contentSchema.$ref.split("/").pop();
  return `  ${event.const}: components["schemas"]["${name}"];`;
});
// `anyOf` beside `properties` says which of them must be there; TypeScript would take it for other shapes.
for (const schema of Object.values(api.components.schemas)) if (schema.properties) delete schema.anyOf;
const typed = astToString(await openapiTS(api));
await writeFile(
  new URL("api.ts", folder),
  `${typed}\n/** What each event of a run's stream holds. */\nexport interface RunStreamEvents {\n${events.join("\n")}\n}\n`,
);

const { $defs, ...entry } = await read("run_event.json");
const referring = (schema) => JSON.parse(JSON.stringify(schema).replaceAll("#/$defs/", "#/components/schemas/"));
const log = {
  openapi: "3.1.0",
  info: { title: "Run log", version: "1" },
  paths: {},
  components: { schemas: { ...referring($defs), LogEntry: referring(entry) } },
};
await writeFile(new URL("log.ts", folder), astToString(await openapiTS(log)));
