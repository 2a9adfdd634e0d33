/** Entry point of the console. */

import { render } from "preact";
import { App } from "./app.tsx";
import { startLive } from "./live.ts";
import "./styles/index.css";
import { applyTheme } from "./theme.ts";
import { followLinks } from "./url.ts";

applyTheme();
followLinks();
startLive();
const root = document.getElementById("console");
if (root !== null) render(<App />, root);
