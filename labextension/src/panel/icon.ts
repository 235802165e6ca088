import { LabIcon } from '@jupyterlab/ui-components';

/** A margin note beside lines of text. `jp-icon3` takes the theme's colour. */
export const agentIcon = new LabIcon({
  name: 'agent-kernel:agent',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M3 4h9v2H3zm0 5h7v2H3zm0 5h9v2H3zm0 5h6v2H3z"/>
    <path d="M14 7h7v8h-3.6L14 18.4z"/>
  </g>
</svg>`
});
