import { Component, type ReactNode } from 'react';

interface IProps {
  /** Shown where the children cannot be drawn. */
  fallback: string;
  children: ReactNode;
}

/** What a file holds may be anything; a picture of it that fails must not take its neighbours along. */
export class Boundary extends Component<IProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidCatch(error: unknown): void {
    console.error('agent-kernel: a view failed', error);
  }

  override render(): ReactNode {
    return this.state.failed ? <pre className="ak-fallback">{this.props.fallback}</pre> : this.props.children;
  }
}
