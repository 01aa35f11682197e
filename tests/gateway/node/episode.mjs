// One scripted episode through the official TypeScript client: what to do comes in as JSON, the
// answers go out as JSON. Run with the folder that node_modules lies in as working folder.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const { url, command, args, env, mode, calls } = JSON.parse(readFileSync(0, "utf8"));
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args, env });
const client = new Client(
  { name: "episode", version: "1" },
  { versionNegotiation: { mode: mode === "legacy" ? "legacy" : { pin: mode } } },
);

await client.connect(transport);
const { tools } = await client.listTools();
const answers = [];
for (const [name, given] of calls) {
  try {
    const { isError, structuredContent, content } = await client.callTool({
      name,
      arguments: given,
    });
    answers.push({ isError: isError ?? false, structured: structuredContent ?? null, text: content[0].text });
  } catch (error) {
    answers.push({ code: error.code, message: error.message });
  }
}
const protocol = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ protocol, tools: tools.map((tool) => tool.name), answers }));
