/** A worker whose tasks take as many milliseconds as their input says. Its argument is the drain time. */

import { App } from "flowfabric";

const app = new App(undefined, { drainMs: Number(process.argv[2]) });

app.task("slow", (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)));

await app.run();
