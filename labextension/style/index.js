import './base.css';
import './host.css';
