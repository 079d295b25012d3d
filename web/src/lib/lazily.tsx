import { Component, type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import { PartError, persist } from './parts';

/**
 * lazily returns a component that loads when it is first rendered and shows nothing until then. It waits while the server
 * cannot be reached. If the component cannot be loaded, the rest of the page stays.
 */
export function lazily<P extends object>(load: () => Promise<ComponentType<P>>) {
  let part: Promise<{ default: ComponentType<object> }> | null = null;
  const preload = () => {
    part ??= persist(load).then((found) => ({ default: found as ComponentType<object> }));
    return part;
  };
  const Part = lazy(preload);
  function Lazily(props: P) {
    return (
      <Missing>
        <Suspense>
          <Part {...props} />
        </Suspense>
      </Missing>
    );
  }
  /** Loads the component before it is rendered. */
  Lazily.preload = preload;
  return Lazily;
}

/** Missing renders nothing in place of a component that could not be loaded. */
class Missing extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render(): ReactNode {
    const error: unknown = this.state.error;
    if (error === null) return this.props.children;
    if (error instanceof PartError) return null;
    throw error;
  }
}
