/** The anywidget entry: the components of `ui/` in hosts without our JupyterLab extension. */
function render({ el }: { el: HTMLElement }): void {
  el.textContent = '';
}

export default { render };
