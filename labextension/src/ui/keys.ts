/**
 * Our nodes keep the notebook's single-key commands off (`data-lm-suppress-shortcuts`), and with
 * them every shortcut. Those with Ctrl or Cmd are handed on: Save works wherever the focus is.
 */

/** What a text field does itself with Ctrl or Cmd. */
const EDITING = new Set(['a', 'c', 'v', 'x', 'y', 'z', 'arrowleft', 'arrowright', 'backspace', 'delete']);

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, [contenteditable]') !== null;
}

const SUPPRESS = 'data-lm-suppress-shortcuts';

/** Guard a node of ours. */
export function guardKeys(node: HTMLElement): void {
  node.setAttribute(SUPPRESS, 'true');
  // Command mode's keys match `:focus`, that is the element itself, before lumino looks at what
  // stands around it: whatever gets the focus in here needs the mark of its own.
  node.addEventListener('focusin', event => {
    if (event.target instanceof Element) {
      event.target.setAttribute(SUPPRESS, 'true');
    }
  });
  // A click on plain text in here puts the focus here, not on the notebook around it.
  node.tabIndex = -1;
  node.addEventListener('click', event => {
    // The notebook gives the focus to the cell it makes active: not while a question was clicked.
    if (event.target instanceof Element && event.target.closest('[data-request-id]')) {
      const take = (): void => {
        if (node.isConnected && !node.contains(document.activeElement)) {
          node.focus({ preventScroll: true });
        }
      };
      take();
      requestAnimationFrame(take);
    }
  });
  node.addEventListener('keydown', event => {
    const key = event.key.toLowerCase();
    const isShortcut = (event.ctrlKey || event.metaKey) && !event.defaultPrevented;
    const isOurs = key === 'enter' || key === 'c' || (isField(event.target) && EDITING.has(key));
    if (!isShortcut || isOurs || node.parentElement === null) {
      return;
    }
    // Lumino tells keys by their `keyCode`, which the DOM's types call deprecated.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const { code, ctrlKey, metaKey, shiftKey, altKey, keyCode } = event;
    const again = new KeyboardEvent('keydown', {
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      ...{ key: event.key, code, ctrlKey, metaKey, shiftKey, altKey, keyCode },
      bubbles: true,
      cancelable: true
    });
    if (!node.parentElement.dispatchEvent(again)) {
      event.preventDefault();
    }
    event.stopPropagation();
  });
}
