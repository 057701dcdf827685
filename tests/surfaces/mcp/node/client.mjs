// The official TypeScript client: lists and calls every tool of a server, and prints what came of it as one JSON document.
//   node client.mjs v1|v2 '{"url": "http://…/mcp"}' CALLS        node client.mjs v1|v2 '{"command": "…", "args": […]}' CALLS
const [generation, target, calls] = process.argv.slice(2);
const { url, command, args } = JSON.parse(target);
const modules = {
  v1: ["@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/streamableHttp.js", "@modelcontextprotocol/sdk/client/stdio.js"],
  v2: ["@modelcontextprotocol/client", "@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio"],
}[generation];
const [{ Client }, { StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all(modules.map((name) => import(name)));
const transport = url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env: process.env });
const client = new Client({ name: "citewell-test", version: "0" });
await client.connect(transport);
const { tools } = await client.listTools();
const { prompts } = await client.listPrompts();
const { resources } = await client.listResources();
const results = {};
for (const [name, given] of Object.entries(JSON.parse(calls))) {
  // The client checks structured content against the output schema of the tool, and throws where it does not fit.
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: given });
  results[name] = { isError: isError ?? false, keys: Object.keys(structuredContent ?? {}), text: content[0].text };
}
const prompt = await client.getPrompt({ name: prompts[0].name, arguments: { question: "Who lit the lamp?" } });
const page = await client.readResource({ uri: resources[0].uri });
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results, prompt: prompt.messages.length, page: page.contents[0].text.length }));
