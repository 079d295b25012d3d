import { Component, type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import { PartError, persist } from './parts';

/**
 * lazily is a component that loads when it is first drawn, with nothing in its place until then. It waits for a server
 * that is away; if it cannot be loaded, the rest of the page stays.
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
  /** Loads it before it is drawn. */
  Lazily.preload = preload;
  return Lazily;
}

/** Missing draws nothing in the place of a part that could not be loaded. */
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
