// A small debugger for a bot in Node: it stops once at the beginning of a function, for some time.
// node --experimental-websocket node_debugger.mjs ws://127.0.0.1:9229/... my_bot.mjs LINE MILLISECONDS
//
// The SDK calls the bot in a worker, which an inspector reaches by the domain NodeWorker, as editors do.
const [url, file, line, ms] = process.argv.slice(2);
const socket = new WebSocket(url);
let last = 0;
const send = (method, params = {}) => socket.send(JSON.stringify({ id: ++last, method, params }));
const toWorker = (sessionId, method, params = {}) =>
  send("NodeWorker.sendMessageToWorker", { sessionId, message: JSON.stringify({ id: ++last, method, params }) });

socket.addEventListener("open", () => {
  send("NodeWorker.enable", { waitForDebuggerOnStart: true });
  send("NodeRuntime.notifyWhenWaitingForDisconnect", { enabled: true });
  send("Debugger.enable");
  send("Runtime.runIfWaitingForDebugger");
});
socket.addEventListener("message", ({ data }) => {
  const { method, params } = JSON.parse(data);
  if (method === "NodeRuntime.waitingForDisconnect") process.exit(0); // the program has ended
  if (method === "Debugger.paused") send("Debugger.resume"); // at the first line of the program
  if (method === "NodeWorker.attachedToWorker") {
    const { sessionId } = params;
    toWorker(sessionId, "Debugger.enable");
    toWorker(sessionId, "Debugger.setBreakpointByUrl", { urlRegex: `${file}$`, lineNumber: Number(line) });
    toWorker(sessionId, "Runtime.runIfWaitingForDebugger");
  }
  if (method === "NodeWorker.receivedMessageFromWorker") {
    const told = JSON.parse(params.message);
    if (told.method !== "Debugger.paused") return;
    const { callFrames, hitBreakpoints } = told.params;
    if (!hitBreakpoints?.length) {
      toWorker(params.sessionId, "Debugger.resume"); // at the first line of the worker
      return;
    }
    console.log(`stopped in ${callFrames[0].functionName}`);
    setTimeout(() => {
      toWorker(params.sessionId, "Debugger.disable"); // it goes on, without breakpoints
      console.log("goes on");
    }, Number(ms));
  }
});
